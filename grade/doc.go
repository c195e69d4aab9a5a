// Package grade turns recordings and a suite into a verdict: suite loading, the
// evidence of each trial, its rows, and the verdicts of trials, cases and the
// run. The same recordings, suite and analyzer version give the same verdict,
// byte for byte, whatever the machine or the order they were given in.
//
// It must not know how bytes were recorded (proxy), how a report looks
// (grade/report), a clock, the network or the environment.
package grade
