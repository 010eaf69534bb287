"""The wizard's work in hand: its one state, where that is kept, and the way from it to what is written."""
