"""A CrashReport in the forms that others read.

words   what a bug and a lint are called, the same in each form
sarif   SARIF 2.1.0, for code scanning
junit   JUnit XML, for continuous integration
page    one HTML file
"""
