package main

import (
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade/report"
)

// formats are all that a verdict can be written in: those of package report, then those
// that are packages of their own.
func formats() []report.Format {
	return slices.Concat(report.Formats(), []report.Format{})
}

// formatNames lists them for a flag's help.
func formatNames(all []report.Format) string {
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}
