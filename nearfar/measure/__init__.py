"""How each memory behaves: kernels, statistics, noise; writes a DeviceProfile."""
