"""The screens: each composes parts and says what was typed or chosen, and does nothing else."""
