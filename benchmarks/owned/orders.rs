// A shop's orders: a table by customer, a tree by time, and lists that are read at random.
use std::collections::{BTreeMap, HashMap};

struct Order {
    customer: u64,
    time: u64,
    lines: Vec<(u32, u32)>,
}

fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

fn make_orders(count: usize, state: &mut u64) -> Vec<Order> {
    (0..count)
        .map(|_| Order {
            customer: mix(state) % 100_000,
            time: mix(state),
            lines: (0..1 + mix(state) % 8).map(|item| (item as u32, 1)).collect(),
        })
        .collect()
}

fn by_customer(orders: &[Order]) -> HashMap<u64, Vec<usize>> {
    let mut table: HashMap<u64, Vec<usize>> = HashMap::new();
    for (number, order) in orders.iter().enumerate() {
        table.entry(order.customer).or_default().push(number);
    }
    table
}

fn by_time(orders: &[Order]) -> BTreeMap<u64, usize> {
    orders.iter().enumerate().map(|(number, order)| (order.time, number)).collect()
}

fn main() {
    let mut state = 1;
    let orders = make_orders(200_000, &mut state);
    let table = by_customer(&orders);
    let tree = by_time(&orders);
    let mut sum = 0u64;
    for _ in 0..300_000 {
        if let Some(numbers) = table.get(&(mix(&mut state) % 100_000)) {
            for &number in numbers {
                sum += orders[number].lines.iter().map(|line| line.1 as u64).sum::<u64>();
            }
        }
        if let Some((_, &number)) = tree.range(mix(&mut state)..).next() {
            sum += orders[number].customer;
        }
    }
    println!("{sum}");
}
