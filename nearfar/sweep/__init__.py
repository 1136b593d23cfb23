"""Many runs at once: a matrix written as text, computed on this machine's cores or on a cluster.

*Block*: one ``[[predict]]`` of the file; each of its keys may hold a list, and lists multiply.
*Point*: one combination, named by the hash of what it is computed from. *Kind*: what computes a
point, one file each in `nearfar/points/kinds/`. *Batch*: the points that one Dask task computes.
*Journal*: the batch's finished points, one line each, written the moment each is finished; *part*:
the Parquet file that the journal becomes. A point is finished when it is in a journal or a part,
and a finished point never runs again.
"""
