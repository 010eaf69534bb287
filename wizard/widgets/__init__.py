"""The parts that screens are made of; each shows one thing and keeps no answer."""
