"""Answers that an oracle has to refuse, and some that it has to accept."""
