"""MDL-FWF, the published method."""
