"""Whether what runs is what was approved: a selection held against what can be seen of a delivery."""
