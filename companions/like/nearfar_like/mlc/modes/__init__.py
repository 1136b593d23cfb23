"""The modes of MLC, one file each: ``run(run)`` prints its table and returns it for JSON."""
