"""What a model needs and what hardware gives: weights, cache, floors, and the least number of GPUs."""
