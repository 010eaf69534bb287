"""The short measurement of a running runtime: plan, serve, load, read, stop."""
