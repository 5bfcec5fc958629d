package truth

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// methods make a pair of each method.
var methods = map[v1alpha1.Method]func(draw) Pair{
	v1alpha1.MethodThroughput:         drawThroughput,
	v1alpha1.MethodPartialDropRate:    drawPartialDropRate,
	v1alpha1.MethodFrameLoss:          drawFrameLoss,
	v1alpha1.MethodSoak:               drawSoak,
	v1alpha1.MethodForwardingRate:     drawForwardingRate,
	v1alpha1.MethodLatency:            drawLatency,
	v1alpha1.MethodAddressCaching:     drawAddressCaching,
	v1alpha1.MethodAddressLearning:    drawAddressLearning,
	v1alpha1.MethodBroadcast:          drawBroadcast,
	v1alpha1.MethodCongestionControl:  drawCongestionControl,
	v1alpha1.MethodHeadOfLineBlocking: drawHeadOfLineBlocking,
	v1alpha1.MethodReset:              drawReset,
	v1alpha1.MethodGroupCapacity:      drawGroupCapacity,
	v1alpha1.MethodGroupJoinDelay:     func(r draw) Pair { return drawGroupDelay(r, true) },
	v1alpha1.MethodGroupLeaveDelay:    func(r draw) Pair { return drawGroupDelay(r, false) },
	v1alpha1.MethodBackToBack:         drawBackToBack,
	v1alpha1.MethodBufferSize:         drawBufferSize,
	v1alpha1.MethodOrdering:           drawOrdering,
	v1alpha1.MethodRecovery:           drawRecovery,
	v1alpha1.MethodRFC2544Latency:     drawRFC2544Latency,
	v1alpha1.MethodConvergence:        drawConvergence,
	v1alpha1.MethodRouteFlap:          drawRouteFlap,
	v1alpha1.MethodRouteCapacity:      drawRouteCapacity,
	v1alpha1.MethodRouteRefresh:       drawRouteRefresh,
	v1alpha1.MethodBGPRestart:         drawBGPRestart,
	v1alpha1.MethodSessionScale:       drawSessionScale,
	v1alpha1.MethodFIBTruth:           drawFIBTruth,
	v1alpha1.MethodConfigurationScale: drawConfigurationScale,
	v1alpha1.MethodIncast:             drawIncast,
	v1alpha1.MethodConnections:        drawConnections,
	v1alpha1.MethodRPCLatency:         drawRPCLatency,
	v1alpha1.MethodCollectives:        drawCollectives,
	v1alpha1.MethodBulk:               drawBulk,
	v1alpha1.MethodMessageRate:        drawMessageRate,
}

// Draw returns the pair of a method that a seed makes.
func Draw(method v1alpha1.Method, seed uint64) (*Pair, error) {
	make, known := methods[method]
	if !known {
		return nil, fmt.Errorf("method %s has no ground truth: add it to internal/measure/truth/methods.go", method)
	}
	p := make(newDraw(method, seed))
	p.Method, p.Seed = method, seed
	return &p, nil
}
