"""The smoke as selwiz orders it: what is asked of it, its state, its plain lines, and what it left behind."""
