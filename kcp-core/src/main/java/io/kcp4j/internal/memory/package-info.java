/**
 * The memory budget: who holds how much, what is charged before it is allocated, and who gets the
 * reserve.
 */
package io.kcp4j.internal.memory;
