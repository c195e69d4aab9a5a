// Package audit aggregates the evidence of any number of recordings: who spoke with
// what, how calls of each tool went, at which link sessions broke, and how catalogs
// changed.
//
// It works on rows. Measuring one recording gives a row for each session, call, graded
// check and catalog; totals are sums over those rows and nothing else, so that what a
// report says can be counted again in the exported tables. Sums do not depend on the
// order in which rows come, limits included (see bounded).
//
// Nothing is guessed: beside each sum stands how much of it was not measured.
//
// It must not know files or formats of recordings, a clock, or the command line.
package audit
