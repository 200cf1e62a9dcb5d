"""Many windows at once: timelines, heat maps, and the page and the table of a history."""
