"""Many runs at once: a matrix written as text, computed on this machine's cores or on a cluster.

*Block*: one ``[[predict]]`` of the file; each of its keys may hold a list, and lists multiply.
*Point*: one combination, named by the hash of its inputs. *Kind*: the code that computes a point,
one file each in `nearfar/points/kinds/`. *Batch*: the points that one Dask task computes.
*Journal*: a file with one line for each finished point of a batch, written when the point is
finished. *Part*: the Parquet file into which the journal is converted. A point in a journal or a
part is finished, and a finished point never runs again.
"""
