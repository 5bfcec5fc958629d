package archive

import (
	"strings"
	"testing"
)

func TestCheckEndpoint(t *testing.T) {
	const lab = "s3://lab/team/run/1.json.zst?endpoint=https://minio.example.com:9000"
	for name, c := range map[string]struct {
		where, variable, value string
		refused                bool
	}{
		"a file":                        {where: "/tmp/result.json"},
		"a volume":                      {where: "file:///var/lib/nodrop/archive/team/run/1.json.zst"},
		"Amazon":                        {where: "s3://lab/team/run/1.json.zst?region=eu-central-1"},
		"an unknown server":             {where: lab, refused: true},
		"a known server":                {where: lab, variable: EndpointsVariable, value: "s3.example.com, minio.example.com:9000"},
		"another port":                  {where: lab, variable: EndpointsVariable, value: "minio.example.com", refused: true},
		"the server of Amazon's tools":  {where: lab, variable: "AWS_ENDPOINT_URL_S3", value: "https://minio.example.com:9000"},
		"the server of all their tools": {where: lab, variable: "AWS_ENDPOINT_URL", value: "https://minio.example.com:9000/"},
		"an endpoint without a host":    {where: "s3://lab/1.json.zst?endpoint=minio", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{EndpointsVariable, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
				t.Setenv(variable, "")
			}
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			if err := CheckEndpoint(c.where, "s3://lab?endpoint=https://minio.example.com:9000", c.where); c.where == lab && err != nil {
				t.Errorf("with a trusted URL: %v", err)
			}
			err := CheckEndpoint(c.where)
			if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "signed with your credentials") {
				t.Errorf("%v, want an error: %v", err, c.refused)
			}
		})
	}
}
