// Package pdf prints reports in HTML as PDF, with an installed Chromium.
package pdf
