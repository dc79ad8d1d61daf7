/**
 * What users of KCP sessions name: {@link io.kcp4j.KcpConfig} and its values, congestion controls,
 * counters, tracers. {@code src/docs/protocol.md} says what sessions do, clause by clause.
 */
package io.kcp4j;
