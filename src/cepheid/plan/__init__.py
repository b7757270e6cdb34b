"""What to run: the automaton, or a join of stacks in some order; what each would cost, and which is taken."""
