package version

import "testing"

func TestDetails(t *testing.T) {
	for name, tc := range map[string]struct {
		settings map[string]string
		want     string
	}{
		"from a repository": {
			map[string]string{"vcs.revision": "0a11372", "vcs.time": "2026-11-22T12:00:00Z", "vcs.modified": "true", "-tags": "standalone"},
			"nodrop    v1.2.3\ncommit    0a11372, with changes that are not committed\nof        2026-11-22T12:00:00Z\ntags      standalone\nbuilt by  go1.26.8 for linux/amd64\n",
		},
		"from an archive": {
			nil,
			"nodrop    v1.2.3\ncommit    unknown: it was built outside of its repository, or without -buildvcs\nbuilt by  go1.26.8 for linux/amd64\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := details("v1.2.3", tc.settings, "go1.26.8", "linux/amd64"); got != tc.want {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
		})
	}
}
