// Package report writes verdicts and chains, for people and for programs, in every
// format but those in packages below it, and compares verdicts with each other. All of
// it is made from one model of a verdict ([Verdict]), which a grading gives or the
// verdict's JSON. Whatever came from a recording is printed with control and bidi
// characters made visible.
//
// It must not decide anything: it shows what packages grade and chain decided.
package report
