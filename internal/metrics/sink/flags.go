package sink

import "github.com/spf13/pflag"

// AddFlags adds the flags of a database, but its URL. The API is the default of its flag.
func (c *Config) AddFlags(flags *pflag.FlagSet, prefix string) {
	flags.StringVar((*string)(&c.API), prefix+"api", string(c.API), "write API of the database, v1, v2 or v3")
	flags.StringVar(&c.Database, prefix+"database", "", "database, of API v1 and v3")
	flags.StringVar(&c.RetentionPolicy, prefix+"retention-policy", "", "retention policy, of API v1")
	flags.StringVar(&c.Org, prefix+"org", "", "organization, of API v2")
	flags.StringVar(&c.Bucket, prefix+"bucket", "", "bucket, of API v2")
	flags.StringVar(&c.TokenFile, prefix+"token-file", "", "file with the token, of API v1 USER:PASSWORD; it is read again for each request")
	flags.StringVar(&c.CAFile, prefix+"ca-file", "", "file with the certificates of the authorities that the database's is checked with")
}
