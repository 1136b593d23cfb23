"""The device library: one TOML file per memory, figures only, each with its source."""
