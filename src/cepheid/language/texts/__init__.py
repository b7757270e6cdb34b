"""Many texts, read together: what they have in common is parsed once.

`skeleton` cuts constants out, so that texts that differ only in constants are parsed once (`template`); `constants`
reads those of a place as a column. Texts that differ in conditions too are cut at their ANDs (`conjuncts`), and have a
frame and conditions (`frames`). What was parsed before is known (`known_drafts`).
"""
