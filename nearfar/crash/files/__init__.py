"""States that a power cut could leave of a folder of files, judged by a checker.

log         file calls of one run, recorded by native/crash/files
operation   a call that changes files or folders
point       a moment of a power cut: before a call that makes data durable, after the program
            printed something, at its end
model       which operations a file system may lose, reorder or tear (models/)
state       one folder that a power cut may leave: operations complete, torn or lost
"""
