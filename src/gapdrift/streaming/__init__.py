"""The parts of a monitor: times, rows on their way into panes, panes, settings, records of windows."""
