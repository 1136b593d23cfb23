"""Files of other tools, read into documents: `device import`, `counters`."""
