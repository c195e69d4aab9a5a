// Package lenient reads JSON that strangers' programs wrote and change without
// notice: a member of another type than expected is read as absent and does not
// take the rest of its record with it. It also hands out a file's objects one by
// one, with a bound on each, whether they stand one a line, in one array, or as
// one document.
//
// It must not know any host: importers say what a member means.
package lenient
