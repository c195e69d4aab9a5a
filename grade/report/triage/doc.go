// Package triage ranks, for each spot of a verdict that failed or is weak, the likely
// causes with what speaks for each, by fixed rules: the same verdict and recordings give
// the same list. Each cause has a stable id (docs/triage.md), the link where it shows and
// the link where it comes from, the tools that it is about, and a prompt for a coding
// agent that can mend it.
//
// The verdict alone is enough for what rests on rows and links; what needs catalogs,
// arguments or results is looked at where a source has the recordings, and what could not
// be looked at is said.
//
// It must not decide what passed or failed: that is in the verdict. It knows no file,
// flag or network. Texts of recordings are data of strangers: they are bounded, made
// visible and quoted, above all in prompts.
package triage
