"""Sources of accesses: `compiled`, `qemu`, `counters`, and the parts they share."""
