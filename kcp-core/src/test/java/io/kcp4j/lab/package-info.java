/**
 * The latency lab: what KCP's latency is under loss, reordering and queues, measured in virtual
 * time. Where {@link io.kcp4j.sim} looks for wrong behaviour under every fault, the lab measures
 * correct behaviour on links that are modelled exactly. One seed determines a run. {@link
 * io.kcp4j.lab.Lab} runs it by hand; src/docs/lab.md says how.
 */
package io.kcp4j.lab;
