"""How the runtime is started and what that needs: launch settings, flags, nodes, the trace to strategies."""
