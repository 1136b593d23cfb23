"""What must stay near, for a budget of near memory?

Glossary
--------
budget     bytes of near memory the program may have
problem    objects' sizes and traffic, and a model that times any placement (`problem`)
near share per object, how much of it stays near: 0 or 1, between for interleaved pages
optimiser  chooses near shares for a budget; one file each in `optimisers/`
frontier   the times that the greedy order reaches, object by object
"""
