package main

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

func sbomCommand(flags *flag.FlagSet) run {
	out := flags.String("o", "", "`file` to write")
	licenses := flags.String("licenses", "", "`folder` that \"release licenses\" has written")
	version := flags.String("version", "", "`version` of the program")
	return func(args []string) error {
		binary, err := one(args)
		if err != nil {
			return err
		}
		at, err := commitTime()
		if err != nil {
			return err
		}
		known, err := readIndex(*licenses)
		if err != nil {
			return err
		}
		document, err := newSBOM(binary, *version, known, at)
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return err
		}
		return os.WriteFile(*out, append(text, '\n'), 0o644)
	}
}

// readIndex returns the licenses of modules from the table in a folder, by path and version.
func readIndex(folder string) (map[string]string, error) {
	file, err := os.Open(filepath.Join(folder, index))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file.Name(), err)
	}
	known := map[string]string{}
	for _, row := range rows[1:] {
		known[row[0]+"@"+row[1]] = row[2]
	}
	return known, nil
}

const (
	noAssertion = "NOASSERTION"
	program     = common.ElementID("Package-nodrop")
)

// newSBOM returns the SPDX document of a binary: the program, and a package for each module that it is linked from.
func newSBOM(binary, version string, licenses map[string]string, at time.Time) (*v2_3.Document, error) {
	l, err := read(binary)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	name := fmt.Sprintf("nodrop %s for %s/%s", version, l.Settings["GOOS"], l.Settings["GOARCH"])
	if tags := l.Settings["-tags"]; tags != "" {
		name += " with tags " + tags
	}
	d := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		DocumentNamespace: "https://nodrop.dev/spdx/nodrop/" + version + "/" + digest,
		CreationInfo:      &v2_3.CreationInfo{Created: at.Format(time.RFC3339), Creators: []common.Creator{{CreatorType: "Tool", Creator: "nodrop.dev/nodrop/hack/release"}}},
		Packages: []*v2_3.Package{{
			PackageName: l.Main.Path, PackageSPDXIdentifier: program, PackageVersion: version, PackageDownloadLocation: noAssertion,
			PackageChecksums:        []common.Checksum{{Algorithm: common.SHA256, Value: digest}},
			PackageLicenseConcluded: "Apache-2.0", PackageLicenseDeclared: "Apache-2.0", PackageCopyrightText: noAssertion,
			PrimaryPackagePurpose: "APPLICATION", PackageFileName: filepath.Base(binary),
		}},
		Relationships: []*v2_3.Relationship{{RefA: common.MakeDocElementID("", "DOCUMENT"), RefB: common.MakeDocElementID("", string(program)), Relationship: common.TypeRelationshipDescribe}},
	}
	var missing []string
	for i, m := range l.Modules {
		license := licenses[m.Path+"@"+m.Version]
		if license == "" {
			missing = append(missing, m.Path+"@"+m.Version)
		}
		id := common.ElementID(fmt.Sprintf("Package-%d", i+1))
		d.Packages = append(d.Packages, packageOf(m, id, license))
		d.Relationships = append(d.Relationships, &v2_3.Relationship{
			RefA: common.MakeDocElementID("", string(program)), RefB: common.MakeDocElementID("", string(id)), Relationship: common.TypeRelationshipDependsOn,
		})
	}
	if len(missing) > 0 {
		return nil, errors.New("modules without a license in the index: " + strings.Join(missing, ", "))
	}
	return d, nil
}

// packageOf describes a module. Its hash, h1 of go.sum, is the SHA-256 of a list of its files and has no algorithm in
// SPDX, so that it is in a comment.
func packageOf(m linkedModule, id common.ElementID, license string) *v2_3.Package {
	location, purl, comment := "https://proxy.golang.org/"+m.Path+"/@v/"+m.Version+".zip", "pkg:golang/"+m.Path+"@"+m.Version, "go.sum: "+m.Sum
	if m.Path == goModule {
		location, comment = "https://go.dev/dl/go"+m.Version+".src.tar.gz", "the standard library of Go"
	}
	return &v2_3.Package{
		PackageName: m.Path, PackageSPDXIdentifier: id, PackageVersion: m.Version, PackageDownloadLocation: location,
		PackageLicenseConcluded: license, PackageLicenseDeclared: license, PackageCopyrightText: noAssertion, PackageComment: comment,
		PackageExternalReferences: []*v2_3.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: "purl", Locator: purl}},
	}
}
