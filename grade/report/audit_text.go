package report

import (
	"io"

	"github.com/sixlink/sixlink/grade/audit"
)

func AuditText(w io.Writer, r *audit.Report, o Options) error { return audit.JSON(w, r) }
func AuditHTML(w io.Writer, r *audit.Report) error            { return audit.JSON(w, r) }
