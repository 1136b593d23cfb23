"""Forms of a CrashReport.

words     sentences for bugs and lints, the same in each form
terminal  text
sarif     SARIF 2.1.0, for code scanning
junit     JUnit XML, for continuous integration
page      one HTML file
"""
