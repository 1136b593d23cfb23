"""Published figures next to nearfar's own: the stage behind `nearfar reproduce`.

A *study* is one file in `studies/`: what was published (figures as data in `published/`, with
citation and table), the inputs from which nearfar computes the same figures, and a verdict in words
that also states where nearfar is worse. *Ours* never uses the figures with which it is compared; if
these were known when the form of a rule was chosen, the study states it. A *rival* is another
prediction of the same figure, such as the source's own model. A difference is ours / published - 1.
"""
