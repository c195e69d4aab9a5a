// Package story puts conversations together from what importers read, record by
// record: the rules of hosts.md 4 on turns, final texts, calls, usage and caps
// that hold for every host. Importers say what a record is; what follows from
// the order of records is here.
//
// It must not know any host's format.
package story
