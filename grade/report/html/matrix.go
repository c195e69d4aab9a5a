package html

import (
	"maps"
	"slices"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/report"
)

// Bounds of the matrices: the labels that there is one by, and its groups.
const (
	maxMatrixLabels = 8
	maxMatrixGroups = 60
)

// matrices makes the matrix by host, model and server and by each label, with the
// figures that every format has. Ones in which all trials are alike unknown say nothing.
func (r *builder) matrices(v *report.Verdict) error {
	ways := []report.By{"host", "model", "server"}
	labels := map[string]bool{}
	for _, c := range v.Cases {
		if err := c.Each(func(t *report.Trial) error {
			for k := range t.Labels {
				labels[k] = true
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, k := range []string{grade.LabelCase, grade.LabelTrial, grade.LabelServer, "host", "model"} {
		delete(labels, k) // what trials are put together by, or by what there is one
	}
	for i, k := range slices.Sorted(maps.Keys(labels)) {
		if i < maxMatrixLabels {
			ways = append(ways, report.By("label:"+k))
		}
	}
	if by := r.o.By; by != "" && !slices.Contains(ways, by) {
		ways = append(ways, by)
	}
	for _, by := range ways {
		m, err := report.MatrixOf(by, v)
		if err != nil {
			return err
		}
		if by != r.o.By && len(m.Groups) == 1 && m.Groups[0].Name == "(unknown)" || len(m.Groups) == 0 {
			continue
		}
		r.run.Matrices = append(r.run.Matrices, matrixOf(m))
	}
	r.run.By = oneLine(string(r.o.By))
	return nil
}

func matrixOf(m *report.Matrix) matrixData {
	out := matrixData{By: oneLine(string(m.By)), Mean: m.MeanPassRate}
	for i := range m.Groups {
		if i < maxMatrixGroups {
			g := &m.Groups[i]
			out.Groups = append(out.Groups, groupData{oneLine(g.Name), g.Historical, cellOf(g.All)})
		}
	}
	for i := range m.Rows {
		row := rowCells{Case: i, Cells: []*cellData{}}
		empty := true
		for _, c := range m.Rows[i].Cells[:len(out.Groups)] {
			row.Cells = append(row.Cells, cellOf(c))
			empty = empty && c == nil
		}
		if !empty {
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}

func cellOf(c *report.Cell) *cellData {
	if c == nil {
		return nil
	}
	d := &cellData{Trials: c.Trials, Passed: c.Passed, Eligible: c.Eligible, Median: c.MedianMs, Tokens: c.Tokens, Longest: ms(c.LongestNs)}
	for _, w := range c.Dots {
		d.Dots += map[grade.Word]string{grade.Passed: "p", grade.Failed: "f", grade.Inconclusive: "i"}[w]
	}
	return d
}
