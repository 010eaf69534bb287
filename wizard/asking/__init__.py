"""What is asked, and what is made of a person's text: questions, defaults, units, ranges, answers files."""
