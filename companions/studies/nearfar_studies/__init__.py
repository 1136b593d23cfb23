"""Published figures next to what nearfar computes: the stage behind `nearfar reproduce`.

A *study* is one file in `studies/`: what was published (figures as data in `published/`, with
citation and table), from what inputs nearfar computes the same, and a verdict in words that also
says where it is worse. *Ours* never uses the figures it is compared with; where the form of a
rule was chosen with them in sight, the study says so. A *rival* is another prediction of the same
figure, such as the source's own model. A difference is ours / published - 1.
"""
