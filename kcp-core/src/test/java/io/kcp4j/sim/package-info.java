/**
 * KCP in virtual time: sessions over a network that loses, duplicates, delays, reorders and forges,
 * all of it drawn from one seed. There is no clock and no thread; the same seed gives the same run,
 * bit for bit. {@link io.kcp4j.sim.Simulate} runs it by hand.
 */
package io.kcp4j.sim;
