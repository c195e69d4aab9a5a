package report

import "slices"

// Locate says where recordings stand, by their ids.
func (v *Verdict) Locate(paths map[string]string) {
	v.Paths = paths
	for i := range v.Skipped {
		v.Skipped[i].Path = paths[v.Skipped[i].Recording]
	}
}

// Recordings are the ids of all recordings that the verdict names.
func (v *Verdict) Recordings() (map[string]bool, error) {
	ids := map[string]bool{}
	for i := range v.Skipped {
		ids[v.Skipped[i].Recording] = true
	}
	for _, c := range v.Cases {
		err := c.Each(func(t *Trial) error {
			ids[t.Recording] = true
			for i := range t.Parts {
				ids[t.Parts[i].Recording] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// sortedTexts sorts by code point (grading.md 7.1).
func sortedTexts(list []string) []string {
	slices.Sort(list)
	return list
}
